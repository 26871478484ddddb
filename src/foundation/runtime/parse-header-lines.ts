/** Returns name, value, … of header lines, for implementations that write headers themselves. */
export function parseHeaderLines(lines: string): string[] {
  return lines
    .split('\r\n')
    .slice(0, -1)
    .flatMap((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)])
}
