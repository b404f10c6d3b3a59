# Measurements other than training, some of them on models that training kept.


def get_kept_tables(wildcards):
    """The tables of the jobs whose models a measurement reads, if it reads any."""
    on_models = MEASUREMENTS[wildcards.kind].on_models
    return [job.table for job in JOBS[wildcards.artefact]] if on_models else []


def get_kept_models(wildcards):
    """These models."""
    on_models = MEASUREMENTS[wildcards.kind].on_models
    runs = PLAN.training[wildcards.artefact] if on_models else []
    return [f"results/runs/{spec.id}/models.pt" for spec in runs]


def get_measured_data(wildcards):
    """The manifest of the data set that a measurement reads, if any."""
    dataset = PLAN.measures[wildcards.kind][wildcards.artefact].get("dataset")
    return [f"results/data/{dataset}.json"] if dataset else []


def get_measure_flags(wildcards):
    """The options of a measurement; one that trains has a device too."""
    trains = MEASUREMENTS[wildcards.kind].run_fields
    place = {"device": config["device"]} if trains else {}
    return get_flags({**PLAN.measures[wildcards.kind][wildcards.artefact], **place})


def get_measurements(exclusive):
    """A pattern that matches the measurements that run alone on the machine, or the others."""
    names = (name for name, each in MEASUREMENTS.items() if each.exclusive == exclusive)
    return "|".join(names) or "none"


rule measure:
    """Measure consensus, spectra, the theorems, or the models that training kept."""
    input:
        models=get_kept_tables,
        data=get_measured_data,
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
        models=get_kept_models,
        flags=get_measure_flags,
        key=lambda wildcards: keys.measurement(
            wildcards.kind,
            PLAN.measures[wildcards.kind][wildcards.artefact],
            PLAN.plugins,
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
            for setting in PLAN.partition_settings[wildcards.artefact]
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
            for spec in PLAN.partitions[wildcards.artefact]
            for word in ("--partition", spec.partition_id)
        ],
        key=keys.code(*keys.JOINED),
        plugins=get_plugins,
    shell:
        "ngo classes {params.plugins:q} {params.ids:q} {input:q} --out {output:q} > {log:q} 2>&1"
