#!/usr/bin/env node
/**
 * `tollgate <command>`: keeps compiled modules in the cache folder of the user, which halves the time of a start, and runs the
 * programme.
 */

import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

enableCompileCache(join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tollgate', 'compiled'))
const { runProgram } = await import('./program.ts')
const { processIo } = await import('./io.ts')
process.exitCode = await runProgram(process.argv.slice(2), processIo(process))
