"""The command line: one program, `aerogram`, whose verbs are functions of the library."""
