import { answer } from './lib/answer.js';

answer('allow');
