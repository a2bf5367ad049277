"""The models that settings describe: their files, the windows that fit, and how they are opened.

| file       | holds |
|------------|-------|
| catalog    | what is known of each model by its alias, and the models that are open |
| windows    | the window of a model: its file, the devices and the settings -> a size, and why |
| opening    | a model opened, with less window each time it does not load; what it set up beside what was predicted |
| watching   | the GPUs under an open model, looked at now and then |
| learned    | windows that refusals have shown to be smaller |
| servers    | what the server of a model says of it |
| files      | where a model's file is, and how it is to be loaded |
"""
