"""What is sent: stored messages, notes and pointers as the parts of one request.

| file      | holds |
|-----------|-------|
| assembly  | one request as a value, and the report that accounts for every message |
| loading   | what stands, read from the store |
| standing  | what a session sends now, in memory |
| shares    | what each category has of a request |
| birth     | how a message enters |
| tail      | the raw end of a request |
| renderer  | what is stored, as parts |
| slim      | oversized text to head, tail and handle |
| categories | what a message is for, by its kind and place |
| atoms     | what stays together |
| marks     | what `history` answered, and how it is known again |
| validity  | R1 to R11 |
"""
