/** The environment of a program that a test starts, without the settings of whoever runs the tests. */

import { join } from 'node:path'

export const PLAIN_ENVIRONMENT = {
  PATH: process.env['PATH'],
  // A start that compiles all modules takes twice as much CPU.
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/tollgate'),
}
