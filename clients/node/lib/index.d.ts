export * from './client';
export * from '../app/app';
export * from './methods';
