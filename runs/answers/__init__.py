"""Other ways to look at an answer than as plain text. An answer is untrusted: these files only say
which parts it has, and the templates write every tag and escape every text."""
