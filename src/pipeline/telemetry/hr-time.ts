/** Times as the serializers of OpenTelemetry take them: seconds and nanoseconds. */

export type HrTime = [number, number]

/** `atMs` may have a fraction. */
export function toHrTime(atMs: number): HrTime {
  const seconds = Math.floor(atMs / 1_000)
  return [seconds, Math.min(999_999_999, Math.round((atMs - seconds * 1_000) * 1_000_000))]
}
