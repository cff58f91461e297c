def nightly(runtime, input):
    return "done"
