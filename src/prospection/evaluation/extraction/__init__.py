"""How good extracted facts are: conversations and the facts they should give in, figures out."""
