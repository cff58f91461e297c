from other import *
