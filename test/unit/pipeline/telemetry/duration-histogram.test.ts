import { describe, expect, it } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../../src/foundation/domain/attribution.ts'
import { outcomeIndex } from '../../../../src/foundation/domain/outcome.ts'
import { BOUNDARIES, DurationHistogram } from '../../../../src/pipeline/telemetry/duration-histogram.ts'

const { served } = outcomeIndex
const attribution = (route?: string, api = 'a-v1'): Attribution => ({
  ...ANONYMOUS,
  tenant: 'acme',
  api,
  operation: 'x',
  ...(route !== undefined && { route }),
})

describe('The durations of calls', () => {
  it('count in their bucket, whose boundary belongs to it, with the attributes of the conventions', () => {
    const histogram = new DurationHistogram('https')
    const read = attribution('GET /things/{thingId}')
    for (const seconds of [0.001, 0.005, 0.0051, 99]) histogram.add(read, 200, served, seconds)
    histogram.commit()
    const [series, ...others] = histogram.read()
    expect(others).toEqual([])
    expect(series?.attributes).toEqual({
      'http.request.method': 'GET',
      'url.scheme': 'https',
      'http.route': '/a-v1/things/{thingId}',
      'http.response.status_code': 200,
      'tollgate.tenant': 'acme',
      'tollgate.api': 'a-v1',
    })
    expect(series?.counts).toEqual([2, 1, ...new Array<number>(BOUNDARIES.length - 2).fill(0), 1])
    expect([series?.count, series?.sum]).toEqual([4, expect.closeTo(99.0111)])
  })

  it('have a series per status, error and route; equal attributions of other segments share it', () => {
    const histogram = new DurationHistogram('http')
    histogram.add(attribution('GET /a'), 200, served, 1)
    histogram.add(attribution('GET /a'), 200, served, 1)
    histogram.add(attribution('GET /a'), 504, outcomeIndex.upstream_timeout, 1)
    histogram.add(attribution(), 404, outcomeIndex.not_found, 1)
    histogram.commit()
    expect(
      histogram
        .read()
        .map(({ attributes, count }) => [attributes['error.type'], attributes['http.request.method'], count]),
    ).toEqual([
      [undefined, 'GET', 2],
      ['upstream_timeout', 'GET', 1],
      [undefined, '_OTHER', 1],
    ])
  })

  it('count only once they are committed', () => {
    const histogram = new DurationHistogram('http')
    const read = attribution('GET /a')
    histogram.add(read, 200, served, 1)
    expect(histogram.read()).toEqual([])
    histogram.reset()
    histogram.add(read, 200, served, 1)
    histogram.commit()
    histogram.commit()
    expect(histogram.read().map(({ count, sum }) => [count, sum])).toEqual([[1, 1]])
  })

  it('have a bounded number of series', () => {
    const histogram = new DurationHistogram('http')
    for (let api = 0; api < 5_000; api++) histogram.add(attribution('GET /a', `a${api}`), 200, served, 1)
    histogram.commit()
    const series = histogram.read()
    expect(series).toHaveLength(2_001)
    expect(series.at(-1)).toMatchObject({ attributes: { 'otel.metric.overflow': true }, count: 3_000 })
  })
})
