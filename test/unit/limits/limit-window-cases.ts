/** Declarations, and the limits that apply to a call at an instant, as expected by `limit-window.test.ts`. */

type Row = readonly [operation: string, instant: string, expected: readonly string[]]

const EXAMPLE = `
limits:
  - name: reading at peak
    operationIds: [ listItems, readItem ]
    totals: { period: 3000 }
    rate: { value: 90, duration: minute }
    concurrent: 3
    validity:
      - { name: morning, start: 05:30, end: 09:13:50 }
      - { name: evening, start: 17:00, end: 21:00 }
  - name: reading
    operationIds: [ listItems, readItem ]
    totals: { hour: 1000, day: 20000, week: 90000 }
    rate: { value: 3, duration: second }
  - name: everything
    totals: { week: 15000 }
    concurrent: 1
    rate: { value: 1, duration: second }
`
/** A Wednesday; its week starts on Monday the 2nd. */
const readingTotals = (hour: string, next: string) => [
  `reading: 1000 from 2026-03-04T${hour} to 2026-03-04T${next}`,
  'reading: 20000 from 2026-03-04T00:00 to 2026-03-05T00:00',
  'reading: 90000 from 2026-03-02T00:00 to 2026-03-09T00:00',
]
const OFF_PEAK = ['everything: 1 concurrent', 'reading: 3 in 1000 ms']
const peak = (start: string, end: string) => [
  'reading at peak: 3 concurrent',
  `reading at peak: 3000 from 2026-03-04T${start} to 2026-03-04T${end}`,
  'reading at peak: 90 in 60000 ms',
]
const MORNING = peak('05:30', '09:13:50')
const EVENING = peak('17:00', '21:00')

export const LIMIT_WINDOW_CASES: Readonly<Record<string, { readonly text: string; readonly rows: readonly Row[] }>> = {
  'the example': {
    text: EXAMPLE,
    rows: [
      ['readItem', '2026-03-04T05:29:59.999', [...OFF_PEAK, ...readingTotals('05:00', '06:00')]],
      ['readItem', '2026-03-04T05:30:00.000', [...MORNING, ...readingTotals('05:00', '06:00')]],
      ['listItems', '2026-03-04T09:13:49.999', [...MORNING, ...readingTotals('09:00', '10:00')]],
      ['listItems', '2026-03-04T09:13:50.000', [...OFF_PEAK, ...readingTotals('09:00', '10:00')]],
      ['readItem', '2026-03-04T16:59:59.999', [...OFF_PEAK, ...readingTotals('16:00', '17:00')]],
      ['readItem', '2026-03-04T17:00:00.000', [...EVENING, ...readingTotals('17:00', '18:00')]],
      ['readItem', '2026-03-04T20:59:59.999', [...EVENING, ...readingTotals('20:00', '21:00')]],
      ['readItem', '2026-03-04T21:00:00.000', [...OFF_PEAK, ...readingTotals('21:00', '22:00')]],
      [
        'writeItem',
        '2026-03-04T08:00:00.000',
        [
          'everything: 1 concurrent',
          'everything: 1 in 1000 ms',
          'everything: 15000 from 2026-03-02T00:00 to 2026-03-09T00:00',
        ],
      ],
    ],
  },
  'totals side by side': {
    text: 'limits:\n  - name: usual\n    totals: { hour: 90000, minute: 200 }',
    rows: [
      [
        'readItem',
        '2026-12-31T23:59:59.999',
        [
          'usual: 200 from 2026-12-31T23:59 to 2027-01-01T00:00',
          'usual: 90000 from 2026-12-31T23:00 to 2027-01-01T00:00',
        ],
      ],
      [
        'readItem',
        '2027-01-01T00:00:00.000',
        [
          'usual: 200 from 2027-01-01T00:00 to 2027-01-01T00:01',
          'usual: 90000 from 2027-01-01T00:00 to 2027-01-01T01:00',
        ],
      ],
    ],
  },
  'a rate at peak before the usual one': {
    text: `
limits:
  - name: peak
    rate: { value: 30, duration: second }
    validity: [{ name: morning, start: 08:00, end: 09:30 }]
  - name: usual
    rate: { value: 4, duration: second }`,
    rows: [
      ['readItem', '2026-03-29T07:59:59.999', ['usual: 4 in 1000 ms']],
      ['readItem', '2026-03-29T08:00:00.000', ['peak: 30 in 1000 ms']],
      ['readItem', '2026-03-29T09:29:59.999', ['peak: 30 in 1000 ms']],
      ['readItem', '2026-03-29T09:30:00.000', ['usual: 4 in 1000 ms']],
      // Daylight saving time starts or ends in Europe on these days, without an effect.
      ['readItem', '2026-10-25T08:00:00.000', ['peak: 30 in 1000 ms']],
      ['readItem', '2026-10-25T07:59:59.999', ['usual: 4 in 1000 ms']],
    ],
  },
  'free times that free one total of two': {
    text: `
limits:
  - name: free
    validity: [{ name: night, start: 02:00, end: 04:00 }, { name: noon, start: 12:00, end: 13:00 }]
    totals: { hour: 0 }
  - name: usual
    totals: { hour: 4000, day: 30000 }
    rate: { value: 9, duration: second }`,
    rows: [
      [
        'readItem',
        '2026-03-04T01:59:59.999',
        [
          'usual: 30000 from 2026-03-04T00:00 to 2026-03-05T00:00',
          'usual: 4000 from 2026-03-04T01:00 to 2026-03-04T02:00',
          'usual: 9 in 1000 ms',
        ],
      ],
      [
        'readItem',
        '2026-03-04T02:00:00.000',
        ['usual: 30000 from 2026-03-04T00:00 to 2026-03-05T00:00', 'usual: 9 in 1000 ms'],
      ],
      [
        'readItem',
        '2026-03-04T12:59:59.999',
        ['usual: 30000 from 2026-03-04T00:00 to 2026-03-05T00:00', 'usual: 9 in 1000 ms'],
      ],
      [
        'readItem',
        '2026-03-04T13:00:00.000',
        [
          'usual: 30000 from 2026-03-04T00:00 to 2026-03-05T00:00',
          'usual: 4000 from 2026-03-04T13:00 to 2026-03-04T14:00',
          'usual: 9 in 1000 ms',
        ],
      ],
    ],
  },
  'free times that free both totals': {
    text: `
limits:
  - name: free
    validity: [{ name: night, start: 02:00, end: 04:00 }]
    totals: { hour: 0, day: 0 }
  - name: usual
    totals: { hour: 4000, day: 30000 }
    rate: { value: 9, duration: second }`,
    rows: [
      ['readItem', '2026-03-04T03:59:59.999', ['usual: 9 in 1000 ms']],
      [
        'readItem',
        '2026-03-04T04:00:00.000',
        [
          'usual: 30000 from 2026-03-04T00:00 to 2026-03-05T00:00',
          'usual: 4000 from 2026-03-04T04:00 to 2026-03-04T05:00',
          'usual: 9 in 1000 ms',
        ],
      ],
    ],
  },
  'limits of some operations': {
    text: `
limits:
  - name: writing
    operationIds: [ writeItem, dropItem ]
    totals: { minute: 12 }
    rate: { value: 3, duration: second }`,
    rows: [
      [
        'writeItem',
        '2026-03-04T12:00:30.000',
        ['writing: 12 from 2026-03-04T12:00 to 2026-03-04T12:01', 'writing: 3 in 1000 ms'],
      ],
      [
        'dropItem',
        '2026-03-04T12:01:00.000',
        ['writing: 12 from 2026-03-04T12:01 to 2026-03-04T12:02', 'writing: 3 in 1000 ms'],
      ],
      ['readItem', '2026-03-04T12:00:30.000', []],
    ],
  },
  'four periods of a day, one of them over midnight': {
    text: `
limits:
  - name: night
    validity: [{ name: early, start: 00:00, end: 03:00 }, { name: late, start: 21:00, end: 24:00 }]
    totals: { period: 30 }
  - { name: morning, validity: [{ name: m, start: 03:00, end: 09:00 }], totals: { period: 31 } }
  - { name: day, validity: [{ name: d, start: 09:00, end: 15:00 }], totals: { period: 32 } }
  - { name: evening, validity: [{ name: e, start: 15:00, end: 21:00 }], totals: { period: 33 } }
  - name: all
    rate: { value: 8, duration: hour }`,
    rows: [
      [
        'readItem',
        '2026-02-28T20:59:59.999',
        ['all: 8 in 3600000 ms', 'evening: 33 from 2026-02-28T15:00 to 2026-02-28T21:00'],
      ],
      [
        'readItem',
        '2026-02-28T21:00:00.000',
        ['all: 8 in 3600000 ms', 'night: 30 from 2026-02-28T21:00 to 2026-03-01T03:00'],
      ],
      [
        'readItem',
        '2026-02-28T23:59:59.999',
        ['all: 8 in 3600000 ms', 'night: 30 from 2026-02-28T21:00 to 2026-03-01T03:00'],
      ],
      [
        'readItem',
        '2026-03-01T00:00:00.000',
        ['all: 8 in 3600000 ms', 'night: 30 from 2026-02-28T21:00 to 2026-03-01T03:00'],
      ],
      [
        'readItem',
        '2026-03-01T02:59:59.999',
        ['all: 8 in 3600000 ms', 'night: 30 from 2026-02-28T21:00 to 2026-03-01T03:00'],
      ],
      [
        'readItem',
        '2026-03-01T03:00:00.000',
        ['all: 8 in 3600000 ms', 'morning: 31 from 2026-03-01T03:00 to 2026-03-01T09:00'],
      ],
      [
        'readItem',
        '2026-03-01T15:00:00.000',
        ['all: 8 in 3600000 ms', 'evening: 33 from 2026-03-01T15:00 to 2026-03-01T21:00'],
      ],
      // In a leap year the night of the 28th ends on the 29th.
      [
        'readItem',
        '2028-02-28T23:00:00.000',
        ['all: 8 in 3600000 ms', 'night: 30 from 2028-02-28T21:00 to 2028-02-29T03:00'],
      ],
      [
        'readItem',
        '2028-02-29T23:00:00.000',
        ['all: 8 in 3600000 ms', 'night: 30 from 2028-02-29T21:00 to 2028-03-01T03:00'],
      ],
    ],
  },
  'a higher total for a while': {
    text: `
limits:
  - { name: upped, validity: [{ name: forenoon, start: 08:00, end: 11:00 }], totals: { minute: 25 } }
  - { name: usual, totals: { minute: 15 } }`,
    rows: [
      ['readItem', '2026-03-04T07:59:59.999', ['usual: 15 from 2026-03-04T07:59 to 2026-03-04T08:00']],
      ['readItem', '2026-03-04T08:00:00.000', ['upped: 25 from 2026-03-04T08:00 to 2026-03-04T08:01']],
      ['readItem', '2026-03-04T10:59:59.999', ['upped: 25 from 2026-03-04T10:59 to 2026-03-04T11:00']],
      ['readItem', '2026-03-04T11:00:00.000', ['usual: 15 from 2026-03-04T11:00 to 2026-03-04T11:01']],
    ],
  },
  'months and weeks': {
    text: 'limits: [{ name: long, totals: { week: 70, month: 300 } }]',
    rows: [
      [
        'readItem',
        '2026-03-31T23:59:59.999',
        ['long: 300 from 2026-03-01T00:00 to 2026-04-01T00:00', 'long: 70 from 2026-03-30T00:00 to 2026-04-06T00:00'],
      ],
      [
        'readItem',
        '2026-04-01T00:00:00.000',
        ['long: 300 from 2026-04-01T00:00 to 2026-05-01T00:00', 'long: 70 from 2026-03-30T00:00 to 2026-04-06T00:00'],
      ],
      [
        'readItem',
        '2028-02-29T23:59:59.999',
        ['long: 300 from 2028-02-01T00:00 to 2028-03-01T00:00', 'long: 70 from 2028-02-28T00:00 to 2028-03-06T00:00'],
      ],
      [
        'readItem',
        '2027-02-28T23:59:59.999',
        ['long: 300 from 2027-02-01T00:00 to 2027-03-01T00:00', 'long: 70 from 2027-02-22T00:00 to 2027-03-01T00:00'],
      ],
      [
        'readItem',
        '2027-03-01T00:00:00.000',
        ['long: 300 from 2027-03-01T00:00 to 2027-04-01T00:00', 'long: 70 from 2027-03-01T00:00 to 2027-03-08T00:00'],
      ],
      [
        'readItem',
        '2026-01-01T00:00:00.000',
        ['long: 300 from 2026-01-01T00:00 to 2026-02-01T00:00', 'long: 70 from 2025-12-29T00:00 to 2026-01-05T00:00'],
      ],
    ],
  },
}
