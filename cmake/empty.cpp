// A library that is there for its precompiled headers needs a source.
