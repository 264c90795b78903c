"""Choices: bytes that steer a generator. Once they are used up, random numbers that they seed go on, so every input
means something and similar inputs mean similar things. (tests/programs/choices.h is the same in C++.)"""

import random


class Choices:
    def __init__(self, data):
        self._data, self._at = data, 0
        self._random = random.Random(data)

    def below(self, n):
        if self._at == len(self._data):
            return self._random.randrange(n)
        self._at += 1
        return self._data[self._at - 1] % n

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def chance(self, one_in):
        return self.below(one_in) == 0

    def any(self, values):
        return values[self.below(len(values))]

    def rest(self):
        """The bytes that are not used up yet; they are then."""
        at, self._at = self._at, len(self._data)
        return self._data[at:]
