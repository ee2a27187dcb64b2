"""From a plan to plain functions: libraries loaded, schemas and signatures verified, what was bound agreed on."""
