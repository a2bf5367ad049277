"""Documents of the project and of a folder, as what a session keeps in its head (P-02, P-13).

| file    | does |
|---------|------|
| sources | which documents settings and a session want, read and kept; loaded and dropped on demand |
| folder  | the files below a folder, and which of them its configuration names |
| project | the documents of a project, cut to their caps |
| reading | a file's text, or why it is none |
"""
