import { guardClocks } from './clock-guards.ts';

// A test that mixes fake and real time hangs on a slow machine. Here it fails on every machine.
guardClocks();
