#!/usr/bin/env node
/** `tollgate <command>`. The installed command starts `bin/tollgate.js`, which runs this module with a cache. */

import { processIo } from './io.ts'
import { runProgram } from './program.ts'

process.exitCode = await runProgram(process.argv.slice(2), processIo(process))
