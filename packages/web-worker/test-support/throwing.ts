throw new Error('no wasm here');
