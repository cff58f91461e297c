import os.path; from answers import answer

answer("allow")
