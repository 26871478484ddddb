/**
 * Entry point of the service: prepares the process, then loads and runs everything else.
 *
 * The imports that follow are dynamic, because Node compiles all static ones before it runs the first line.
 */

import './foundation/runtime/thread-pool.ts'
import { keepCompiledModules } from './foundation/runtime/compile-cache.ts'

keepCompiledModules()
await import('./app/run-service.ts')
