/** The environment of a program that a test starts, without the settings of whoever runs the tests. */

import { COMPILE_CACHE } from '../keep-compiled-modules.ts'

export const PLAIN_ENVIRONMENT = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: COMPILE_CACHE,
}
