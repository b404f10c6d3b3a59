# The workflow of this folder, for a plain `snakemake`.


include: "workflow/Snakefile"


# A file that is included has no default target of its own.
workflow.default_target = "all"
