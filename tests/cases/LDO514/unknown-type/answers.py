import answers_of_others

Answer = answers_of_others.Answer
