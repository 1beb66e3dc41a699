//! One test per bug that was found in the wild or by another test: the smallest input that showed it, and what is right.
//! The name of a test says what went wrong.
