"""Drop rehearsals."""
