#!/usr/bin/env node
/**
 * Keeps compiled modules in the cache folder of the user, and runs the command line programme.
 *
 * JavaScript, because the first TypeScript module that is not in the cache loads Node's type stripper, which takes longer than
 * everything else that a start does.
 */

import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tollgate', 'compiled'))
await import('./main.ts')
