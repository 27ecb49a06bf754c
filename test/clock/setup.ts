import { forbidMixedTime } from './mixed-time.ts';

// A test that mixes fake and real time hangs on a slow machine. Here it fails on every machine.
forbidMixedTime();
