-- Who changed the pieces of a drop, and who is told when a second factor changes.

-- A wish that the gate has confirmed is written to the audit log in the same transaction, whoever confirms it: its own request, or the
-- sweeper after a failure.
ALTER TABLE adjustments
    ADD COLUMN actor text,                                  -- who wished it; NULL: nobody that the audit log knows
    ADD COLUMN total_after integer;                         -- what its variant had released then; NULL: of before this version

-- A notice that no request writes (`doorman staff reset-second-factor`) speaks the language in which the second factor was set up.
ALTER TABLE second_factors ADD COLUMN language text NOT NULL DEFAULT 'en';
