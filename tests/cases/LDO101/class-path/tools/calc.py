class Calculator(:
