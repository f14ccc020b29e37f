"""One plugin of each kind, each in a module of its own: asking for one imports no other."""
