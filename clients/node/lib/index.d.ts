export * from './client';
export * from './app';
