from openai import OpenAI
