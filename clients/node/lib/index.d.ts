export * from './client';
export * from './app';
export * from './methods';
