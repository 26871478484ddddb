/**
 * The process: settings in, service up, signals heard, a clean end.
 *
 * Exit codes: 0 after a clean end, 2 where the start was refused (with one line a reason on stderr),
 * 1 where something failed that nobody foresaw.
 */

import { startApp } from './app.ts'
import { greeting } from './banner.ts'
import { ConfigError, readConfig, type Config } from './config.ts'
import { createLog } from './runtime/log.ts'
import { StartRefused } from './runtime/start-refused.ts'

const EXIT_FAILED = 1
const EXIT_REFUSED = 2

function settings(): Config {
  try {
    return readConfig(process.argv.slice(2), process.env)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    for (const line of cause.lines) process.stderr.write(`tollgate: ${line}\n`)
    process.exit(EXIT_REFUSED)
  }
}

const config = settings()
const log = createLog(config.logLevel)

try {
  const app = await startApp({ config, log })
  process.stdout.write(greeting(app.facts, process.stdout.isTTY))

  let isStopping = false
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) process.exit(EXIT_FAILED)
    isStopping = true
    log.info({ signal }, 'stopping: calls in flight finish first')
    app.stop().then(
      () => process.exit(0),
      (cause: unknown) => {
        log.fatal({ err: cause }, 'the service did not stop cleanly')
        process.exit(EXIT_FAILED)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
} catch (cause) {
  if (cause instanceof StartRefused) {
    for (const line of cause.message.split('\n')) process.stderr.write(`tollgate: ${line}\n`)
    process.exit(EXIT_REFUSED)
  }
  log.fatal({ err: cause }, 'the service could not start')
  process.exit(EXIT_FAILED)
}
