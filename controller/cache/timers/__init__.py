"""What the passing of time alone changes about pods: a module for each rule, joined in `clocks`."""
