/** Exits with 0 if the platform API of this container answers a path with 200: `node health.mjs /readyz`. */

const [path = '/healthz'] = process.argv.slice(2)
const port = process.env.PLATFORM_PORT || '8081'

try {
  const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4_000) })
  process.exitCode = status === 200 ? 0 : 1
} catch {
  process.exitCode = 1
}
