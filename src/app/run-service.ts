/**
 * Runs the service as a process: reads settings, starts, and drains on a signal.
 *
 * Exit codes: 0 after a clean shutdown, 2 if the start was refused (with a line for each reason on stderr), 1 after an
 * unexpected failure.
 */

import { startApp } from './app.ts'
import { sendLastLines } from './send-last-lines.ts'
import { greeting } from './onboarding/banner.ts'
import { ConfigError, readConfig, SETTING_NAMES } from './config.ts'
import { information } from './settings/information-flags.ts'
import { createLogTap } from '../foundation/runtime/log-tap.ts'
import { createLog } from '../foundation/runtime/log.ts'
import { refusalOf, StartRefused } from '../foundation/runtime/start-refused.ts'
import { TELEMETRY_VARIABLES } from '../pipeline/telemetry/telemetry-settings.ts'
import { unknownVariables } from './settings/unknown-variables.ts'

const EXIT_FAILED = 1
const EXIT_REFUSED = 2
/** Under `npm start`, one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const SAME_SIGNAL_MS = 500

/** Files of the data folder are for this user alone, also in a folder that others may enter. */
process.umask(0o077)

const argv = process.argv.slice(2)

const text = orRefuse(() => information(argv, process.env))
if (text !== null) {
  process.stdout.write(text)
  process.exit(0)
}
const config = orRefuse(() => readConfig(argv, process.env))
const logTap = config.telemetry?.logs ? createLogTap() : null
const log = createLog(config.logLevel, { tap: logTap })
for (const { name, nearest } of unknownVariables(process.env, [...SETTING_NAMES, ...TELEMETRY_VARIABLES])) {
  log.warn({ variable: name, nearest }, `${name} is not a setting and has no effect; the nearest is ${nearest}`)
}
for (const warning of config.telemetryWarnings) log.warn(warning)

try {
  const app = await startApp({ config, log, logTap })
  let stoppingSinceMs: number | null = null
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppingSinceMs !== null && performance.now() - stoppingSinceMs < SAME_SIGNAL_MS) return
    if (stoppingSinceMs !== null) process.exit(EXIT_FAILED)
    stoppingSinceMs = performance.now()
    process.stdout.write('tollgate: draining; calls in flight finish first. Press Ctrl-C again to end immediately.\n')
    log.info({ signal }, 'draining: calls in flight finish first')
    app.stop().then(
      () => process.exit(0),
      (cause: unknown) => {
        log.fatal({ err: cause }, 'the service did not stop cleanly')
        void sendLastLines({ config, log, logTap }).then(() => process.exit(EXIT_FAILED))
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // Printed last: a signal that follows it drains the service.
  process.stdout.write(greeting(app.facts, process.stdout.isTTY))
} catch (cause) {
  const refused = refusalOf(config.dataDir, cause)
  if (refused instanceof StartRefused) {
    for (const line of refused.message.split('\n')) process.stderr.write(`tollgate: ${line}\n`)
    process.exit(EXIT_REFUSED)
  }
  log.fatal({ err: cause }, 'the service could not start')
  await sendLastLines({ config, log, logTap })
  process.exit(EXIT_FAILED)
}

/** Returns what `read` returns; ends the process with a line for each reason if the settings are wrong. */
function orRefuse<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    for (const line of cause.lines) process.stderr.write(`tollgate: ${line}\n`)
    return process.exit(EXIT_REFUSED)
  }
}
