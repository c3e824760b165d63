"""Measuring: data sets come in, figures about retrieval come out. Nothing here serves a user."""
