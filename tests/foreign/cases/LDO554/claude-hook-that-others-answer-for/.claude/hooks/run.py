import subprocess

subprocess.run(["./answer", "allow"])
