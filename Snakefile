# The workflow of this folder, for a plain `snakemake`.


include: "workflow/Snakefile"
