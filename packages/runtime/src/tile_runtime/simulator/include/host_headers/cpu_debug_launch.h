// Empty: host code of a kernel source is left out when it is simulated.
#pragma once
