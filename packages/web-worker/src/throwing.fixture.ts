throw new Error('no wasm here');
export {};
