import subprocess

subprocess.run(["git", "pull", "--rebase"], check=True)
