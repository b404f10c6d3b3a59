# Measurements other than training, some of them on models that training kept.


rule measure:
    """Measure consensus, spectra, the theorems, or the models that training kept."""
    input:
        models=lambda wildcards: get_kept(
            wildcards, [job.table for job in JOBS.get(wildcards.artefact, ())]
        ),
        data=lambda wildcards: PLAN.measured_data(wildcards.kind, wildcards.artefact),
    output:
        tidy_table("<tier>", "{kind}_{artefact}"),
    log:
        "logs/<tier>/measures/{kind}_{artefact}.log",
    wildcard_constraints:
        kind=get_measurements(exclusive=False),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards, attempt: attempt
        * config["resources"]["measure"]["mem_mb"],
        runtime=config["resources"]["measure"]["runtime"],
    params:
        models=lambda wildcards: get_kept(wildcards, PLAN.models(wildcards.artefact)),
        flags=lambda wildcards: get_flags(
            PLAN.measure_options(wildcards.kind, wildcards.artefact)
        ),
        key=lambda wildcards: staleness.measurement(
            wildcards.kind,
            PLAN.measures[wildcards.kind][wildcards.artefact],
            PLAN.plugins,
            get_kept(wildcards, PLAN.training.get(wildcards.artefact, ())),
        ),
        plugins=get_plugins,
    shell:
        "ngo {wildcards.kind:q} {params.plugins:q} {params.models:q} {params.flags:q} --out {output:q} > {log:q} 2>&1"


use rule measure as measure_alone with:
    wildcard_constraints:
        kind=get_measurements(exclusive=True),
    # Alone on the machine.
    threads: lambda wildcards: workflow.cores
    resources:
        mem_mb=config["resources"]["measure"]["mem_mb"],
        runtime=config["resources"]["measure"]["runtime"],
        gpu=GPU,


rule classes:
    """Count the samples per class and worker of the partitions on show."""
    input:
        lambda wildcards: [
            partition_file(PLAN.tier, setting)
            for setting in PLAN.partitions[wildcards.artefact]
        ],
    output:
        tidy_table("<tier>", "classes_{artefact}"),
    log:
        "logs/<tier>/measures/classes_{artefact}.log",
    conda:
        ENVIRONMENT
    params:
        ids=lambda wildcards: [
            word
            for spec in PLAN.partitions[wildcards.artefact].values()
            for word in ("--partition", spec.partition_id)
        ],
        key=staleness.code(*staleness.JOINED),
        plugins=get_plugins,
    shell:
        "ngo classes {params.plugins:q} {params.ids:q} {input:q} --out {output:q} > {log:q} 2>&1"
