"""The rules of the IR: what each phase allows, and the verifier that checks them."""
