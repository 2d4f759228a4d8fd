/** A map that is sorted by key. Appending at the end, as runs do, costs nothing extra. */
export class SortedMap<V> {
  readonly #keys: string[] = [];
  readonly #values = new Map<string, V>();

  get size(): number {
    return this.#keys.length;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: V): void {
    if (!this.#values.has(key)) this.#keys.splice(this.#lowerBound(key), 0, key);
    this.#values.set(key, value);
  }

  delete(key: string): void {
    if (this.#values.delete(key)) this.#keys.splice(this.#lowerBound(key), 1);
  }

  /** The entries from a key on, in order or in reverse; without a key, from the start or the end. */
  *entries(start: string | undefined, reverse: boolean): Generator<[string, V]> {
    const step = reverse ? -1 : 1;
    for (let i = this.#startIndex(start, reverse); ; i += step) {
      const key = this.#keys[i];
      const value = key === undefined ? undefined : this.#values.get(key);
      if (key === undefined || value === undefined) return;
      yield [key, value];
    }
  }

  #startIndex(start: string | undefined, reverse: boolean): number {
    if (start === undefined) return reverse ? this.#keys.length - 1 : 0;
    const index = this.#lowerBound(start);
    return reverse && this.#keys[index] !== start ? index - 1 : index;
  }

  #lowerBound(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    const newest = this.#keys[high - 1];
    if (newest !== undefined && newest < key) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
