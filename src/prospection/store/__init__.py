"""Where sessions, facts, vectors and traces live. What a store must promise is tests/contracts/store_contract.py."""
