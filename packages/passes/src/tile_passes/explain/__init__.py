"""What passes decide and why, as text and as pictures: read from what they found. Nothing here
decides or changes anything. Which passes can is in `explanations`."""
