/** Settings of a Redis server under which it would evict leases while it runs. */

/** Returns why leases cannot be kept on the server, from its `INFO`; null if they can. */
export function unusableReason(info: string): string | null {
  const values = new Map(
    info.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]]
    }),
  )
  if (!values.has('run_id')) return 'Redis does not report its run id (INFO server)'
  if (values.get('redis_mode') === 'cluster') return 'Redis is in cluster mode; leases need one primary'
  const policy = values.get('maxmemory_policy')
  if (values.get('maxmemory') !== '0' && policy !== 'noeviction') {
    return `Redis evicts keys when its memory is full (maxmemory-policy ${policy}); leases need noeviction`
  }
  return null
}
